started:
  RETURN user, COUNT(*), SUM(s.cpu)
  PATTERN SEQ(SUBMIT, SCHEDULE s+)
  WHERE s.cpu > 0.05
  GROUPBY user
  WITHIN 20 s SLIDE 10 s;

done:
  RETURN COUNT(*), AVG(s.ram)
  PATTERN SEQ(SCHEDULE s+, FINISH)
  WHERE [machine]
  WITHIN 2 min SLIDE 1 min;

growing:
  RETURN COUNT(*), MAX(s.ram)
  PATTERN SEQ(SUBMIT s+, FAIL)
  WHERE [user] AND s.ram < NEXT(s).ram
  WITHIN 1 min SLIDE 30 s;

again:
  RETURN job, COUNT(*)
  PATTERN SEQ(SUBMIT, SCHEDULE+, FAIL, SUBMIT)
  GROUPBY job
  WITHIN 5 min SLIDE 5 min;

never_done:
  RETURN COUNT(*), COUNT(s)
  PATTERN SEQ(SUBMIT s+, NOT SCHEDULE)
  WHERE [job, task]
  WITHIN 1 min;

urgent:
  RETURN user, COUNT(*), MIN(s.cpu)
  PATTERN SEQ(SUBMIT, SCHEDULE s+)
  WHERE s.priority >= 8 AND s.cpu < 0.1
  GROUPBY user
  WITHIN 15 s SLIDE 5 s
