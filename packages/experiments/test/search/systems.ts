import type { RandomSource } from '../../../../src/base/seeded-random.ts'
import type { Extent } from '../../src/search/bisection.ts'
import type { Batch } from '../../src/search/sequential-test.ts'

/** A simulated target whose share of failed calls is known for each magnitude. */
export interface System {
  readonly name: string
  readonly range: Extent
  /** The share of failed calls above which a magnitude fails. */
  readonly limit: number
  /** The exact share of failed calls in the long run; grows with the magnitude. */
  readonly share: (magnitude: number) => number
  /** Simulates a run. */
  readonly run: (magnitude: number, random: RandomSource) => readonly Batch[]
}

const BATCHES = 60
const CALLS = 50

/** Returns the magnitude at which a system begins to fail. */
export function trueLimit({ range: { mildest, strongest }, limit, share }: System): number {
  let low = mildest
  let high = strongest
  for (let step = 0; step < 60; step++) {
    const middle = Math.sqrt(low * high)
    if (share(middle) > limit) high = middle
    else low = middle
  }
  return high
}

/** Counts calls in batches, without the calls of the warm-up. */
function batchesOf(next: () => boolean, warmUp = 0): readonly Batch[] {
  for (let call = 0; call < warmUp; call++) next()
  return Array.from({ length: BATCHES }, () => {
    let failed = 0
    for (let call = 0; call < CALLS; call++) if (next()) failed++
    return { calls: CALLS, failed }
  })
}

function exponential(random: RandomSource, mean: number): number {
  return -mean * Math.log(1 - random())
}

/** Returns the probability that a call waits in M/M/c (Erlang C); 1 beyond the capacity. */
function waiting(servers: number, load: number): number {
  if (load >= servers) return 1
  let term = 1
  let total = 1
  for (let n = 1; n < servers; n++) {
    term *= load / n
    total += term
  }
  const last = ((term * load) / servers) * (servers / (servers - load))
  return last / (total + last)
}

/** Returns the probability that a call in M/M/c takes longer than a deadline. */
function late(servers: number, rate: number, mean: number, deadline: number): number {
  const load = rate * mean
  if (load >= servers) return 1
  const wait = waiting(servers, load)
  const served = Math.exp(-deadline / mean)
  const spare = servers - load
  // The sum of an exponential wait, with the rate `spare / mean`, and an exponential service.
  const both =
    Math.abs(spare - 1) < 1e-9
      ? served * (1 + deadline / mean)
      : (spare * served - Math.exp((-deadline * spare) / mean)) / (spare - 1)
  return (1 - wait) * served + wait * both
}

/** Simulates M/M/c; returns a function that is true for a call that misses its deadline. */
function queue(
  servers: number,
  rate: number,
  deadline: number,
  service: () => number,
  random: RandomSource,
): () => boolean {
  const free = Array.from({ length: servers }, () => 0)
  let now = 0
  return () => {
    now += exponential(random, 1 / rate)
    let first = 0
    for (let server = 1; server < servers; server++)
      if (free[server]! < free[first]!) first = server
    free[first] = Math.max(now, free[first]!) + service()
    return free[first]! - now > deadline
  }
}

/** A queue whose service gets slower: the knee is where the servers no longer suffice. */
const mmc: System = {
  name: 'a queue with a knee (M/M/c)',
  range: { mildest: 1, strongest: 100 },
  limit: 0.05,
  share: (slower) => late(8, 100, (10 + slower) / 1000, 0.2),
  run: (slower, random) => {
    const service = (): number => exponential(random, (10 + slower) / 1000)
    return batchesOf(queue(8, 100, 0.2, service, random), 1000)
  },
}

/** A pool whose workers retry each failed attempt until it succeeds. */
const retries: System = {
  name: 'a pool with unbounded retries',
  range: { mildest: 1, strongest: 90 },
  limit: 0.05,
  share: (percent) => late(10, 100, 0.04 / (1 - percent / 100), 0.4),
  run: (percent, random) => {
    const service = (): number => {
      let took = 0
      do took += exponential(random, 0.04)
      while (random() < percent / 100)
      return took
    }
    return batchesOf(queue(10, 100, 0.4, service, random), 1000)
  },
}

/** A circuit breaker that opens after consecutive failures, and rejects a number of calls then. */
function breakerOf(rejected: number): Pick<System, 'share' | 'run'> {
  return {
    share: (percent) => {
      const fails = percent / 100
      const closed = (fails ** -2 - 1) / (1 - fails)
      return (closed * fails + rejected) / (closed + rejected)
    },
    run: (percent, random) => {
      let inRow = 0
      let open = 0
      return batchesOf(() => {
        if (open > 0) {
          open--
          return true
        }
        const fails = random() < percent / 100
        inRow = fails ? inRow + 1 : 0
        if (inRow < 2) return fails
        inRow = 0
        open = rejected
        return true
      }, 500)
    },
  }
}

const breaker: System = {
  name: 'a circuit breaker',
  range: { mildest: 1, strongest: 60 },
  limit: 0.1,
  ...breakerOf(20),
}

const TTL = 2
const RATE = 40
const ROOM = 4

/** A cache whose entry expires: all calls until it is filled go to a backend with little room. */
const stampede: System = {
  name: 'a cache stampede',
  range: { mildest: 10, strongest: 2000 },
  limit: 0.05,
  share: (ms) => {
    const seconds = ms / 1000
    const mean = RATE * seconds
    let chance = Math.exp(-mean)
    // The first call fills the entry; those that find no room fail.
    let fits = 0
    for (let others = 0; others <= ROOM - 1; others++) {
      fits += (ROOM - 1 - others) * chance
      chance *= mean / (others + 1)
    }
    const failed = mean - (ROOM - 1) + fits
    return failed / (1 + mean + RATE * TTL)
  },
  run: (ms, random) => {
    let now = 0
    let filledAt = 0
    let expiresAt = 0
    let inBackend = 0
    return batchesOf(() => {
      now += exponential(random, 1 / RATE)
      if (now >= expiresAt) {
        filledAt = now + ms / 1000
        expiresAt = filledAt + TTL
        inBackend = 1
        return false
      }
      if (now >= filledAt) return false
      inBackend++
      return inBackend > ROOM
    }, 500)
  },
}

/** A simulated target with two magnitudes. */
export interface System2 {
  readonly name: string
  readonly range: Extent
  readonly second: Extent
  readonly limit: number
  /** Returns the system at one magnitude of the second parameter. */
  readonly at: (second: number) => System
}

function system2(
  settings: Omit<System2, 'at'>,
  at: (second: number) => Pick<System, 'share' | 'run'>,
): System2 {
  return { ...settings, at: (second) => ({ ...settings, ...at(second) }) }
}

/** A queue whose service gets slower by the share of delayed calls and by their delay. */
const delayedQueue = system2(
  {
    name: 'a queue with a knee, share x delay',
    range: { mildest: 1, strongest: 50 },
    second: { mildest: 50, strongest: 5000 },
    limit: 0.05,
  },
  (ms) => ({
    share: (percent) => mmc.share((percent / 100) * ms),
    run: (percent, random) => mmc.run((percent / 100) * ms, random),
  }),
)

/** A pool whose workers retry each failed attempt, and whose attempts are slower. */
const slowRetries = system2(
  {
    name: 'a pool with unbounded retries, share x delay',
    range: { mildest: 1, strongest: 90 },
    second: { mildest: 1, strongest: 100 },
    limit: 0.05,
  },
  (ms) => ({
    share: (percent) => late(10, 100, (0.04 + ms / 1000) / (1 - percent / 100), 0.3),
    run: (percent, random) => {
      const service = (): number => {
        let took = 0
        do took += exponential(random, 0.04 + ms / 1000)
        while (random() < percent / 100)
        return took
      }
      return batchesOf(queue(10, 100, 0.3, service, random), 1000)
    },
  }),
)

/** Calls with a time limit: a delay below the limit does no harm, and one above it breaks each call. */
const timeLimit = system2(
  {
    name: 'a time limit, share x delay',
    range: { mildest: 1, strongest: 50 },
    second: { mildest: 50, strongest: 5000 },
    limit: 0.05,
  },
  (ms) => {
    const share = (percent: number): number =>
      (percent / 100) * Math.min(1, Math.exp((ms - 1000) / 20))
    return {
      share,
      run: (percent, random) => batchesOf(() => random() < share(percent)),
    }
  },
)

/** The circuit breaker, by the share of failed calls and the calls that it rejects when open. */
const openBreaker = system2(
  {
    name: 'a circuit breaker, share x rejected calls',
    range: { mildest: 1, strongest: 60 },
    second: { mildest: 2, strongest: 50, isWhole: true },
    limit: 0.1,
  },
  breakerOf,
)

export const SYSTEMS2: readonly System2[] = [delayedQueue, slowRetries, timeLimit, openBreaker]

export const SYSTEMS: readonly System[] = [mmc, retries, breaker, stampede]
