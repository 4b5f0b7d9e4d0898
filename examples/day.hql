-- Ten questions about a day of rides in a city, for each district: `make demo` asks them. All of them follow
-- a driver and a rider through one or more Travel events, which is the part they can share. The first three
-- are those of ridesharing.hql.

-- Trips on which the driver travelled towards the rider but never picked them up.
no_pickup:
  RETURN district, COUNT(*), AVG(T.speed) AS mean_speed
  PATTERN SEQ(Request R, Travel T+, NOT Pickup)
  WHERE [driver, rider]
  GROUPBY district
  WITHIN 30 min SLIDE 5 min;

-- Pool riders who were dropped off at their destination.
pool_dropoff:
  RETURN district, COUNT(*), SUM(T.duration) AS time_on_the_way
  PATTERN SEQ(Request R, Travel T+, Dropoff)
  WHERE [driver, rider] AND R.request_type = 'Pool'
  GROUPBY district
  WITHIN 20 min SLIDE 5 min;

-- Riders who cancelled an accepted request while the driver was stuck in slow traffic.
slow_cancel:
  RETURN district, COUNT(*), MIN(T.speed) AS slowest
  PATTERN SEQ(Accept, Travel T+, Cancel)
  WHERE [driver, rider] AND T.speed < 10
  GROUPBY district
  WITHIN 30 min SLIDE 5 min;

-- Rides that were dropped off: all of them, those offered for at most 55, and for at most 40. They differ
-- only in the requests that enter them, so they are one for as long as those are the same.
dropoff:
  RETURN district, COUNT(*), MAX(T.speed) AS fastest
  PATTERN SEQ(Request R, Travel T+, Dropoff)
  WHERE [driver, rider]
  GROUPBY district
  WITHIN 30 min SLIDE 5 min;

dropoff_to_55:
  RETURN district, COUNT(*), MAX(T.speed) AS fastest
  PATTERN SEQ(Request R, Travel T+, Dropoff)
  WHERE [driver, rider] AND R.price <= 55
  GROUPBY district
  WITHIN 30 min SLIDE 5 min;

dropoff_to_40:
  RETURN district, COUNT(*), MAX(T.speed) AS fastest
  PATTERN SEQ(Request R, Travel T+, Dropoff)
  WHERE [driver, rider] AND R.price <= 40
  GROUPBY district
  WITHIN 30 min SLIDE 5 min;

-- Rides that were delayed or rerouted on the way.
detour:
  RETURN district, COUNT(*), AVG(T.speed) AS mean_speed
  PATTERN SEQ(Accept, Travel T+, (Delay OR Reroute), Travel+)
  WHERE [driver, rider]
  GROUPBY district
  WITHIN 30 min SLIDE 10 min;

-- Rides that speeded up all the way to the pickup.
speeding_up:
  RETURN district, COUNT(*), MAX(T.speed) AS fastest
  PATTERN SEQ(Accept, Travel T+, Pickup)
  WHERE [driver, rider] AND T.speed < NEXT(T).speed
  GROUPBY district
  WITHIN 30 min SLIDE 10 min;

-- Riders who paid, and what the meter had shown on the way.
paid:
  RETURN district, COUNT(*), MAX(T.price) AS highest_price
  PATTERN SEQ(Pickup, Travel T+, Dropoff, Pay)
  WHERE [driver, rider]
  GROUPBY district
  WITHIN 60 min SLIDE 10 min;

-- Pool rides with a stop on the way.
pool_stop:
  RETURN district, COUNT(*), SUM(T.duration) AS time_to_the_stop
  PATTERN SEQ(Pickup, Travel T+, Stop, NOT Cancel, Dropoff)
  WHERE [driver, rider]
  GROUPBY district
  WITHIN 60 min SLIDE 10 min
