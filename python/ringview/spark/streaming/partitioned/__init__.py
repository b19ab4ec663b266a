"""mode="partitioned": one engine for each partition of the rows, its state in Spark's state store.

| file | what it holds |
|---|---|
| placement | which column says where a row lies; which views the driver keeps |
| heavy | values of which the rows of one table are spread over all partitions |
| partitioning, reading | how computed rows lie; what queries read |
| gathered | the views that the driver keeps: parts added up, and views over them |
| layout | the partitions of a stream, as data |
| routing | rows on their way: labels, messages |
| times | the greatest times of rows on their way to all partitions, which have one clock by them |
| segments | the state of one partition in Spark's store: a snapshot and a log; no Spark |
| bases | what partitions begin with; no Spark |
| store | the engine of one partition between micro-batches, by a token; no Spark |
| live | the engines that are in memory; no Spark |
| engine | that engine: a database |
| setting | the options of a stream for its workers, and the calls of its engines |
| server | the process that has the engines of an executor |
| address, requests, client | where it is, what is said to it, and a worker's way there |
| worker, processor | what runs in workers, and how Spark calls it |
| versions | the state as DataFrames: to look at views, to begin, to move rows |
| state | all of it behind the face |
| moving, evolving | the same state in other partitions, or with other views |
| counts | what happened in partitions, as numbers |
"""
