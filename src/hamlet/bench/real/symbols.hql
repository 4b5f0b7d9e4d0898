followed:
  RETURN COUNT(*), AVG(i.price)
  PATTERN SEQ(MSFT, INTC i+)
  WHERE i.volume >= 1000
  WITHIN 20 s SLIDE 10 s;

large:
  RETURN side, COUNT(*), SUM(i.volume)
  PATTERN SEQ(RIMM, INTC i+, MSFT)
  WHERE i.volume > 2000
  GROUPBY side
  WITHIN 30 s SLIDE 10 s;

rising:
  RETURN side, COUNT(*), MAX(r.price)
  PATTERN SEQ(MSFT, RIMM r+)
  WHERE r.price < NEXT(r).price
  GROUPBY side
  WITHIN 30 s SLIDE 15 s;

alone:
  RETURN COUNT(*), COUNT(r)
  PATTERN SEQ(RIMM r+, NOT MSFT)
  WHERE r.volume >= 500
  WITHIN 10 s
