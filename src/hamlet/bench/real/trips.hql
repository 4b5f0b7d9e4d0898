tipped:
  RETURN COUNT(*), AVG(c.tip)
  PATTERN SEQ(CSH, CRD c+)
  WHERE [driver]
  WITHIN 40 min SLIDE 20 min;

cash:
  RETURN driver, COUNT(*), SUM(c.total)
  PATTERN CSH c+
  GROUPBY driver
  WITHIN 1 h;

shorter:
  RETURN COUNT(*), MIN(c.distance)
  PATTERN CRD c+
  WHERE [taxi] AND c.distance > NEXT(c).distance
  WITHIN 1 h SLIDE 30 min;

card_only:
  RETURN taxi, COUNT(*), MAX(c.fare)
  PATTERN SEQ(CRD c+, NOT CSH)
  GROUPBY taxi
  WITHIN 1 h SLIDE 30 min
