import { MessageScanner } from './message-scanner.ts'
import type { Script, Step } from './script.ts'

/** The maximum number of scripts. */
const MOST = 16

/**
 * Returns the scripts of more patient clients: at one place or several, they wait for the responses
 * to their requests before they send more. Returns none if no client sends anything while a request
 * waits for its response.
 */
export function polite(script: Script): Script[] {
  let found: Script[] = [script]
  for (const [at, steps] of script.clients.entries()) {
    const ways = patient(steps)
    found = found.flatMap((one) =>
      ways.map((way) => ({ ...one, clients: one.clients.with(at, way) })),
    )
    found.length = Math.min(found.length, MOST)
  }
  return found.slice(1)
}

/** The steps as they are, and with waits in them. */
function patient(steps: readonly Step[]): Step[][] {
  let ways: Step[][] = [[]]
  const ends: number[] = []
  let sent = 0
  let asked = 0
  const scanner = new MessageScanner({
    message: (text) => {
      sent += text.length
      ends.push(sent)
    },
  })
  let start = 0
  for (const [at, step] of steps.entries()) {
    if (step.do !== 'send') {
      ways = ways.map((way) => [...way, step])
      continue
    }
    const before = ends.length
    scanner.push(step.bytes)
    const last = start + step.bytes.length
    // A message that ends with the step is followed by more if the next step sends without a wait.
    const goesOn = steps.slice(at + 1).find((next) => next.do !== 'turns')?.do === 'send'
    const places = ends.slice(before).filter((end) => end < last || goesOn)
    const from = start
    const count = asked
    const split = (end: number, index: number): Step[] => {
      const [asks, more] = [step.asks?.slice(0, index + 1), step.asks?.slice(index + 1)]
      const first = { ...step, bytes: step.bytes.slice(0, end - from), asks: asks ?? [] }
      const wait = { do: 'responses', count: count + index + 1 } as const
      if (end === last) return [first, wait]
      return [first, wait, { ...step, bytes: step.bytes.slice(end - from), asks: more ?? [] }]
    }
    const choices: Step[][] = [[step], ...places.map(split)]
    ways = choices.flatMap((choice) => ways.map((way) => [...way, ...choice])).slice(0, MOST)
    start += step.bytes.length
    asked += ends.length - before
  }
  return ways
}
