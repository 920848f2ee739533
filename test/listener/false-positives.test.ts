// part: slow
import { expect, it } from 'vitest'
import {
  FalseValues,
  type FalseUse,
  type FollowedCall,
} from '../../src/listener/falsified/false-values.ts'
import { Random } from '../support/random.ts'

// Ordinary calls, in tasks in which false values are out: none of them may count as a use.

const CALLS = Number(process.env['SQUALL_LOOKED_CALLS'] ?? 100_000)
const CALLS_PER_TASK = 50
const WORDS =
  'please pay the invoice of Anna Schneider by Friday and send a copy to billing at example for order number status open closed pending shipped total amount price limit page cursor next'.split(
    ' ',
  )
const NAMES = ['Anna Schneider', 'Bert Vogel', 'Carla Neumann', 'Dieter Kraus', 'Elif Yilmaz']

it(`finds no use of a false value in ${CALLS} ordinary calls`, () => {
  const source = new Random(7)
  const random = (): number => source.next()
  const pick = <T>(list: readonly T[]): T => source.pick(list)
  const digits = (count: number): string =>
    Array.from({ length: count }, () => Math.floor(random() * 10)).join('')
  const hex = (length: number): string =>
    Array.from({ length }, () => source.int(0, 15).toString(16)).join('')
  const amount = (): number => Math.round(random() * 10 ** (1 + random() * 5) * 100) / 100
  const values: readonly (() => unknown)[] = [
    () => Math.floor(random() * 100),
    () => 10 * Math.floor(random() * 100),
    () => random() < 0.5,
    () => `${2020 + Math.floor(random() * 10)}-0${1 + Math.floor(random() * 9)}-1${digits(1)}`,
    () => `ORD-${digits(6)}`,
    () => [8, 4, 4, 12].map((length) => hex(length)).join('-'),
    () => `+49 30 ${digits(8)}`,
    () => `https://example.com/${digits(4)}?page=${digits(1)}`,
    () => Array.from({ length: 8 }, () => pick(WORDS)).join(' '),
    () => pick(['open', 'closed', 'EUR', 'DE', 'Berlin']),
    () => ({ from: digits(2), tags: [pick(WORDS), pick(WORDS)], size: 1024 }),
  ]
  const follower = new FalseValues(() => undefined)
  let call = 0
  const asked = (task: number, args: unknown): [FollowedCall, FalseUse | undefined] => {
    const message = {
      id: ++call,
      method: 'tools/call',
      name: 'pay',
      params: { name: 'pay', arguments: args },
      transport: 'streamable-http',
      protocolVersion: undefined,
      progressToken: undefined,
    } as const
    const key = `session ${task % 900}`
    const asker = { keys: [key], party: key, task: () => undefined, hint: 'destructive' } as const
    const entry: FollowedCall = { call: message, followed: undefined }
    return [entry, follower.asked(entry, asker, true)]
  }
  const uses: string[] = []
  let found = 0
  const by = { rule: 'r', fault: 'falsify', marked: true, tool: 'get_quote' }
  for (let task = 0; task < CALLS / CALLS_PER_TASK; task++) {
    const [first] = asked(task, {})
    const truth = 1000 + amount()
    const text = (value: number): string => value.toFixed(2)
    const falsified = [
      { kind: 'number', falseText: text(truth * 1.05), trueText: text(truth) },
      { kind: 'text', falseText: `CUS-${digits(8)}`, trueText: `CUS-${digits(8)}` },
    ] as const
    follower.falsified(first, by, falsified, undefined)
    for (let i = 1; i < CALLS_PER_TASK; i++) {
      const args = { a: pick(values)(), b: pick(values)(), c: pick(values)(), to: pick(NAMES) }
      const [, use] = asked(task, args)
      if (use !== undefined) uses.push(JSON.stringify([falsified, args]))
    }
    const [, used] = asked(task, { note: `Pay ${falsified[0].falseText} EUR` })
    if (used !== undefined) found++
  }
  expect(uses).toEqual([])
  // The others have too few digits, or are beyond the bound of a conversation.
  expect(found).toBeGreaterThan(0.9 * Math.min(900, CALLS / CALLS_PER_TASK))
})
