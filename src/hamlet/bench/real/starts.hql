full:
  RETURN COUNT(*), AVG(s.passengers)
  PATTERN SEQ(START s+, END)
  WHERE s.passengers >= 5 AND [driver]
  WITHIN 30 min SLIDE 10 min;

more:
  RETURN taxi, COUNT(*), MAX(s.passengers)
  PATTERN START s+
  WHERE s.passengers < NEXT(s).passengers
  GROUPBY taxi
  WITHIN 1 h SLIDE 30 min;

north:
  RETURN COUNT(*), MAX(s.start_latitude)
  PATTERN SEQ(END, START s+)
  WHERE [taxi] AND s.start_latitude < NEXT(s).start_latitude
  WITHIN 1 h SLIDE 20 min;

groups:
  RETURN passengers, COUNT(*)
  PATTERN SEQ(START s, END e+)
  WHERE s.start_longitude > -73.8 AND e.end_longitude > -73.8
  GROUPBY passengers
  WITHIN 10 min SLIDE 5 min;

waiting:
  RETURN COUNT(*), COUNT(e)
  PATTERN SEQ(END e+, NOT START)
  WHERE [driver]
  WITHIN 30 min SLIDE 30 min
