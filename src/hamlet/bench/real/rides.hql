arrived:
  RETURN district, COUNT(*), SUM(t.duration)
  PATTERN SEQ(Request, Travel t+, Dropoff)
  WHERE [driver, rider]
  GROUPBY district
  WITHIN 30 min SLIDE 10 min;

paid_pool:
  RETURN district, COUNT(*), AVG(t.speed)
  PATTERN SEQ(Request r, Travel t+, Pay)
  WHERE [driver, rider] AND r.request_type = 'Pool'
  GROUPBY district
  WITHIN 40 min SLIDE 10 min;

lost:
  RETURN district, COUNT(*), MIN(t.speed)
  PATTERN SEQ(Accept, Travel t+, NOT Dropoff)
  WHERE [driver, rider]
  GROUPBY district
  WITHIN 20 min SLIDE 5 min;

jammed:
  RETURN COUNT(*), MAX(t.duration)
  PATTERN SEQ(Request, Travel t+, Cancel)
  WHERE [driver, rider] AND t.speed < 15
  WITHIN 30 min SLIDE 15 min;

faster:
  RETURN district, COUNT(*), MAX(t.speed)
  PATTERN SEQ(Request, Travel t+, Dropoff)
  WHERE [driver, rider] AND t.speed < NEXT(t).speed
  GROUPBY district
  WITHIN 20 min SLIDE 10 min;

slower:
  RETURN COUNT(*), COUNT(t)
  PATTERN SEQ(Accept, Travel t+)
  WHERE [driver, rider] AND t.speed > NEXT(t).speed
  WITHIN 20 min SLIDE 20 min;

two_legs:
  RETURN district, COUNT(*)
  PATTERN SEQ(Request, Travel+, Stop, Travel+, Dropoff)
  WHERE [driver, rider]
  GROUPBY district
  WITHIN 30 min SLIDE 10 min;

waited:
  RETURN district, COUNT(*)
  PATTERN SEQ(Arrive, NOT Pickup, Travel t+)
  WHERE [driver, rider]
  GROUPBY district
  WITHIN 15 min SLIDE 5 min
