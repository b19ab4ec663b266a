"""mode="partitioned": one engine for each partition of the rows, its state in Spark's state store.

| file | what it holds |
|---|---|
| placement | which column of a table says in which partition a row lies |
| layout | the partitions of a stream, as data |
| routing | rows on their way: labels, messages |
| store | the engine of one partition between micro-batches, by a token; no Spark |
| engine | that engine: a database |
| worker, processor | what runs in workers, and how Spark calls it |
| versions | the state as DataFrames: to look at views, to begin, to move rows |
| state | all of it behind the face |
| moving, evolving | the same state in other partitions, or with other views |
| counts | what happened in partitions, as numbers |
"""
