import type { Script, Step } from './script.ts'

/** Scripts that are a little simpler than one, the simplest first. */
export function* simpler(script: Script): Iterable<Script> {
  const { clients, responses } = script
  for (let at = 0; at < clients.length; at++) {
    if (clients.length > 1) yield { ...script, clients: clients.toSpliced(at, 1) }
  }
  for (const [at, steps] of clients.entries()) {
    const exchanges = inExchanges(steps)
    for (const size of [8, 4, 2, 1]) {
      for (let from = 0; from + size <= exchanges.length && size < exchanges.length; from += size) {
        yield { ...script, clients: clients.with(at, counted(exchanges.toSpliced(from, size))) }
      }
    }
  }
  for (const [at, response] of responses.entries()) {
    yield { ...script, responses: responses.toSpliced(at, 1) }
    if (response.pieces.length < 2) continue
    const whole = { ...response, pieces: [response.pieces.join('')] }
    yield { ...script, responses: responses.with(at, whole) }
  }
}

/**
 * Steps up to the wait for a response, and what follows it up to the next request. To take away a
 * wait alone would make another script: one whose requests do not wait for each other.
 */
function inExchanges(steps: readonly Step[]): Step[][] {
  const exchanges: Step[][] = []
  let waited = true
  for (const step of steps) {
    if (waited && step.do === 'send') {
      exchanges.push([])
      waited = false
    }
    if (exchanges.length === 0) exchanges.push([])
    exchanges.at(-1)!.push(step)
    if (step.do === 'responses') waited = true
  }
  return exchanges
}

/** The steps, with waits for as many responses as are still asked for. */
function counted(exchanges: readonly (readonly Step[])[]): Step[] {
  let asked = 0
  return exchanges.flat().map((step) => {
    if (step.do === 'send') asked += step.asks?.length ?? 0
    return step.do === 'responses' ? { do: 'responses', count: asked } : step
  })
}

/** The simplest script that `differs` still holds for, after so many trials at most. */
export async function shrink(
  script: Script,
  differs: (script: Script) => Promise<boolean>,
  trials: number,
): Promise<Script> {
  let best = script
  let left = trials
  for (let better = true; better && left > 0;) {
    better = false
    for (const candidate of simpler(best)) {
      if (left-- <= 0) break
      if (!(await differs(candidate))) continue
      best = candidate
      better = true
      break
    }
  }
  return best
}
