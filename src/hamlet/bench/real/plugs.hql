busy:
  RETURN house, COUNT(*), AVG(h.value)
  PATTERN SEQ(LOW, HIGH h+)
  WHERE [household, plug]
  GROUPBY house
  WITHIN 30 min SLIDE 10 min;

worked:
  RETURN house, COUNT(*), MAX(w.value)
  PATTERN SEQ(HIGH, WORK w+, OFF)
  WHERE [household, plug]
  GROUPBY house
  WITHIN 1 h SLIDE 30 min;

climbing:
  RETURN house, COUNT(*), MAX(w.value)
  PATTERN WORK w+
  WHERE [household, plug] AND w.value < NEXT(w).value
  GROUPBY house
  WITHIN 20 min SLIDE 10 min;

never_off:
  RETURN COUNT(*), COUNT(m)
  PATTERN SEQ(MEDIUM m+, NOT OFF)
  WHERE [house, household, plug]
  WITHIN 30 min;

steps:
  RETURN house, COUNT(*)
  PATTERN SEQ(LOW+, MEDIUM+, HIGH)
  WHERE [household, plug]
  GROUPBY house
  WITHIN 30 min SLIDE 15 min;

idle:
  RETURN house, COUNT(*), SUM(o.value)
  PATTERN SEQ(MEDIUM, OFF o+)
  WHERE [household, plug]
  GROUPBY house
  WITHIN 30 min SLIDE 10 min
