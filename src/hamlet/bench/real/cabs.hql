rides:
  RETURN COUNT(*), MAX(t.latitude)
  PATTERN SEQ(PICKUP, TRAVEL t+, DROPOFF)
  WHERE [cab]
  WITHIN 40 min SLIDE 10 min;

each_cab:
  RETURN cab, COUNT(*), AVG(t.longitude)
  PATTERN SEQ(PICKUP, TRAVEL t+, DROPOFF)
  GROUPBY cab
  WITHIN 1 h SLIDE 20 min;

southward:
  RETURN COUNT(*), MIN(t.latitude)
  PATTERN SEQ(PICKUP, TRAVEL t+, DROPOFF)
  WHERE [cab] AND t.latitude > NEXT(t).latitude
  WITHIN 30 min SLIDE 10 min;

on_the_way:
  RETURN COUNT(*), COUNT(t)
  PATTERN SEQ(PICKUP, TRAVEL t+, NOT DROPOFF)
  WHERE [cab]
  WITHIN 20 min SLIDE 10 min;

searching:
  RETURN cab, COUNT(*)
  PATTERN SEQ(DROPOFF, CRUISE c+, PICKUP)
  WHERE c.latitude > 37.75
  GROUPBY cab
  WITHIN 30 min SLIDE 30 min;

eastward:
  RETURN cab, COUNT(*), MAX(c.longitude)
  PATTERN SEQ(DROPOFF, CRUISE c+)
  WHERE c.longitude < NEXT(c).longitude
  GROUPBY cab
  WITHIN 20 min SLIDE 20 min;

both:
  RETURN COUNT(*)
  PATTERN SEQ(DROPOFF, CRUISE+, PICKUP, TRAVEL+)
  WHERE [cab]
  WITHIN 30 min SLIDE 15 min
