fares:
  RETURN borough, COUNT(*), AVG(t.price)
  PATTERN SEQ(Pickup, Travel t+, Dropoff)
  WHERE [driver]
  GROUPBY borough
  WITHIN 30 min SLIDE 10 min;

cancelled:
  RETURN borough, COUNT(*)
  PATTERN SEQ(Request, Approach a+, Cancel)
  WHERE [driver, rider]
  GROUPBY borough
  WITHIN 20 min SLIDE 10 min;

dearer:
  RETURN COUNT(*), MAX(t.price)
  PATTERN SEQ(Pickup, Travel t+, Dropoff)
  WHERE [driver] AND t.price < NEXT(t).price
  WITHIN 30 min SLIDE 15 min;

full:
  RETURN borough, COUNT(*), MIN(t.price)
  PATTERN SEQ(Pickup p, Travel t+)
  WHERE [driver] AND p.passengers > 2
  GROUPBY borough
  WITHIN 20 min SLIDE 5 min;

cruising:
  RETURN COUNT(*), COUNT(c)
  PATTERN SEQ(Dropoff, Cruise c+, NOT Request)
  WHERE [driver]
  WITHIN 20 min;

again:
  RETURN borough, COUNT(*)
  PATTERN SEQ(Pickup, Travel+, Dropoff, Pickup, Travel+, Dropoff)
  WHERE [driver]
  GROUPBY borough
  WITHIN 1 h SLIDE 30 min
