-- Three questions about rides in a city, per district. All three follow a driver through one or more
-- Travel events, which is the part they can share.

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
  WHERE [driver, rider] AND R.kind = 'Pool'
  GROUPBY district
  WITHIN 20 min SLIDE 5 min;

-- Riders who cancelled an accepted request while the driver was stuck in slow traffic.
slow_cancel:
  RETURN district, COUNT(*), MIN(T.speed) AS slowest
  PATTERN SEQ(Accept, Travel T+, Cancel)
  WHERE [driver, rider] AND T.speed < 10
  GROUPBY district
  WITHIN 30 min SLIDE 5 min
