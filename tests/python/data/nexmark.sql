-- Nexmark's queries in DuckDB's SQL, each behind its number; which are left out: see test_nexmark.py.
-- Windows of time are columns: a tumbling one is time_bucket, a hopping one time_bucket less each hop, a session
-- the count of gaps before. Where the order of rows leaves a choice, further columns settle it.
-- Q0
select auction, bidder, price, date_time, extra from bid;
-- Q1
select auction, bidder, 0.908 * price as price, date_time, extra from bid;
-- Q2
select auction, price from bid where mod(auction, 3) = 0;
-- Q3
select p.name, p.city, p.state, a.id
from auction a join person p on a.seller = p.id
where a.category = 10 and (p.state = 'OR' or p.state = 'ID' or p.state = 'CA');
-- Q4
select q.category, avg(q.final) as mean
from (
    select max(b.price) as final, a.category
    from auction a, bid b
    where a.id = b.auction and b.date_time between a.date_time and a.expires
    group by a.id, a.category) q
group by q.category;
-- Q5
with hops as (
    select b.auction, time_bucket(interval '2 seconds', b.date_time) - h.hop * interval '2 seconds' as start
    from bid b, (values (0), (1), (2), (3), (4)) h (hop)),
counted as (select auction, start, count(*) as num from hops group by auction, start)
select c.auction, c.num, c.start
from counted c join (select start, max(num) as most from counted group by start) m
    on c.start = m.start and c.num >= m.most;
-- Q6
select q.seller, q.id, avg(q.final) over (
        partition by q.seller order by q.date_time, q.id rows between 10 preceding and current row) as mean
from (
    select a.id, a.seller, b.price as final, b.date_time,
        row_number() over (partition by a.id order by b.price desc, b.date_time, b.bidder) as place
    from auction a, bid b
    where a.id = b.auction and b.date_time between a.date_time and a.expires) q
where q.place <= 1;
-- Q7
select b.auction, b.price, b.bidder, b.date_time, b.extra
from bid b join (
    select max(price) as most, time_bucket(interval '10 seconds', date_time) as start
    from bid group by time_bucket(interval '10 seconds', date_time)) w
    on b.price = w.most and time_bucket(interval '10 seconds', b.date_time) = w.start;
-- Q8
select p.id, p.name, p.start
from (
    select id, name, time_bucket(interval '10 seconds', date_time) as start
    from person group by id, name, time_bucket(interval '10 seconds', date_time)) p
join (
    select seller, time_bucket(interval '10 seconds', date_time) as start
    from auction group by seller, time_bucket(interval '10 seconds', date_time)) a
    on p.id = a.seller and p.start = a.start;
-- Q9
select id, item, seller, category, bidder, price, bid_time
from (
    select a.id, a.item, a.seller, a.category, b.bidder, b.price, b.date_time as bid_time,
        row_number() over (partition by a.id order by b.price desc, b.date_time, b.bidder) as place
    from auction a, bid b
    where a.id = b.auction and b.date_time between a.date_time and a.expires) q
where place <= 1;
-- Q10
select auction, bidder, price, date_time, extra, strftime(date_time, '%Y-%m-%d') as day,
    strftime(date_time, '%H:%M') as minute
from bid;
-- Q11
select bidder, count(*) as bids, min(date_time) as start, max(date_time) as stop
from (
    select bidder, date_time, sum(is_first) over (
            partition by bidder order by date_time range between unbounded preceding and current row) as session
    from (
        select bidder, date_time, case when lag(date_time) over (partition by bidder order by date_time)
                >= date_time - interval '10 seconds' then 0 else 1 end as is_first
        from bid) gaps) numbered
group by bidder, session;
-- Q13
select b.auction, b.bidder, b.price, b.date_time, s.value
from bid b join side s on mod(b.auction, 4) = s.key;
-- Q14
select auction, bidder, 0.908 * price as price,
    case when hour(date_time) >= 8 and hour(date_time) <= 18 then 'dayTime'
        when hour(date_time) <= 6 or hour(date_time) >= 20 then 'nightTime' else 'otherTime' end as kind,
    date_time, extra, length(extra) - length(replace(extra, 'c', '')) as c_counts
from bid
where 0.908 * price > 100 and 0.908 * price < 500000;
-- Q15
select strftime(date_time, '%Y-%m-%d') as day, count(*) as bids,
    count(*) filter (where price < 10000) as low,
    count(*) filter (where price >= 10000 and price < 1000000) as middle,
    count(*) filter (where price >= 1000000) as high,
    count(distinct bidder) as bidders,
    count(distinct bidder) filter (where price < 10000) as low_bidders,
    count(distinct bidder) filter (where price >= 10000 and price < 1000000) as middle_bidders,
    count(distinct auction) as auctions,
    count(distinct auction) filter (where price >= 1000000) as high_auctions
from bid
group by strftime(date_time, '%Y-%m-%d');
-- Q16
select channel, strftime(date_time, '%Y-%m-%d') as day, max(strftime(date_time, '%H:%M')) as minute,
    count(*) as bids, count(*) filter (where price < 10000) as low,
    count(*) filter (where price >= 1000000) as high,
    count(distinct bidder) as bidders, count(distinct bidder) filter (where price < 10000) as low_bidders,
    count(distinct auction) as auctions
from bid
group by channel, strftime(date_time, '%Y-%m-%d');
-- Q17
select auction, strftime(date_time, '%Y-%m-%d') as day, count(*) as bids,
    count(*) filter (where price < 10000) as low,
    count(*) filter (where price >= 10000 and price < 1000000) as middle,
    count(*) filter (where price >= 1000000) as high,
    min(price) as least, max(price) as most, avg(price) as mean, sum(price) as total
from bid
group by auction, strftime(date_time, '%Y-%m-%d');
-- Q18
select auction, bidder, price, channel, date_time, extra
from (
    select *, row_number() over (
            partition by bidder, auction order by date_time desc, price, channel, url, extra) as place
    from bid) q
where place <= 1;
-- Q19
select auction, bidder, price, date_time, place
from (
    select *, row_number() over (
            partition by auction order by price desc, date_time, bidder) as place
    from bid) q
where place <= 10;
-- Q20
select b.auction, b.bidder, b.price, b.channel, b.url, b.date_time, b.extra, a.item, a.initial, a.reserve,
    a.date_time as opened, a.expires, a.seller, a.category
from bid b join auction a on b.auction = a.id
where a.category = 10;
-- Q21
select auction, bidder, price, channel,
    case when lower(channel) = 'apple' then '0' when lower(channel) = 'google' then '1'
        when lower(channel) = 'facebook' then '2' when lower(channel) = 'baidu' then '3'
        else regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) end as channel_id
from bid
where regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) <> ''
    or lower(channel) in ('apple', 'google', 'facebook', 'baidu');
-- Q22
select auction, bidder, price, channel, split_part(url, '/', 4) as dir1, split_part(url, '/', 5) as dir2,
    split_part(url, '/', 6) as dir3
from bid;
