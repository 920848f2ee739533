import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FaultName } from '../../src/filters/index.ts'
import { rounds } from '../support/rounds.ts'
import { EDGES, type Form, FORMS } from './forms.ts'
import { CALL_FAULTS } from './one-fault.ts'
import { type ReachKind, variantsOf } from './reach-kind.ts'
import { REACH_KINDS } from './reach-kinds.ts'
import { MORE_KINDS, UNREAD_RESPONSES } from './reach-more-kinds.ts'
import { alike, foretold, outlookOf, predictionsOf } from './reach-outlook.ts'
import { reachPage } from './reach-page.ts'
import { type Cell, type Met, ReachStage } from './reach-stage.ts'
import { playOnStdio } from './reach-stdio.ts'

const file = fileURLToPath(new URL('../../docs/reference/reach.md', import.meta.url))

const GROUPS = { ...REACH_KINDS, 'Further responses': MORE_KINDS }
const SHOWN = Object.values(REACH_KINDS).flat()
const ALIKE = alike(FORMS, SHOWN)
const PLAYED = [...FORMS, ...EDGES]
const FIRST = new Set(ALIKE.map(([form]) => form!))

/** Every cell is played in many rounds, and a few of each form otherwise. */
const ALL = rounds(0, 1) === 1
const PARTS: Readonly<Record<string, readonly ReachKind[]>> = ALL
  ? GROUPS
  : { 'Messages of all kinds': Object.values(GROUPS).flat() }

/** Returns the kinds of messages that a form meets. */
function chosen(form: Form, kinds: readonly ReachKind[]): readonly ReachKind[] {
  const turn = PLAYED.indexOf(form)
  if (ALL) {
    // Forms that act alike share the messages, except for those that their parameters tell apart.
    return kinds.filter(
      (kind, index) =>
        FIRST.has(form) ||
        MORE_KINDS.includes(kind) ||
        outlookOf(form, kind).acts === 'depends' ||
        (index + turn) % 10 === 0,
    )
  }
  const unread = turn % 4 === 0 ? [UNREAD_RESPONSES[(turn / 4) % UNREAD_RESPONSES.length]!] : []
  const others = FIRST.has(form) || turn % 4 === 2 ? [kinds[(turn * 37) % kinds.length]!] : []
  return [...others, ...unread]
}

/** Returns the cells in which a form meets a kind of message. */
function cellsOf(form: Form, kind: ReachKind): readonly Cell[] {
  const needsEarlier = outlookOf(form, kind).needs?.startsWith('an earlier') === true
  const variants = ALL || FIRST.has(form) ? variantsOf(kind) : (['all'] as const)
  return variants.map((how) => ({ form, kind, how, twice: needsEarlier && how === 'all' }))
}

let stage: ReachStage
beforeAll(async () => {
  stage = await ReachStage.open()
})
afterAll(() => stage.close())

const nameOf = ({ message, transport }: ReachKind): string => `${message} on ${transport}`

/** The ends of a call whose condition may be met. */
const MET_OR_NOT: ReadonlySet<string> = new Set([
  'acts',
  'nothing_to_act_on',
  'no_plausible_change',
  'headers_sent',
  'within_limit',
])

/** Returns what is not as `explain` says; undefined when all is. */
function complaint({ form, kind, how }: Cell, { what }: Met): string | undefined {
  const { acts, reason, needs } = foretold(form, kind)
  const isSo =
    acts === 'yes'
      ? what === 'acts'
      : acts === 'depends'
        ? MET_OR_NOT.has(what)
        : // Within its limit, a rate limit does not get as far as to find out. Errors are left alone.
          what === reason ||
          (what === 'within_limit' && (form.fault === 'rateLimit' || how === 'error')) ||
          (what === 'nothing_to_act_on' && how === 'error')
  // A fault cannot act in every way on a response that is not read.
  if (isSo || (kind.unread === true && what !== 'acts')) return undefined
  return `${form.text} on ${nameOf(kind)}, ${how}: ${acts} ${reason ?? needs ?? ''}, but ${what}`
}

/** Returns the calls that count as injected, and should not. */
function miscounted({ form, kind, how }: Cell, { what, calls }: Met): readonly string[] {
  // A response that nobody read and a fault changed does not count as ok.
  const isUnknown = kind.unread === true && outlookOf(form, kind).by !== 'request'
  return calls
    .filter(({ origin }) => origin === 'injected')
    .filter(({ outcome }) => what !== 'acts' || (isUnknown && outcome === 'ok'))
    .map(({ outcome }) => `${form.text} on ${nameOf(kind)}, ${how}: ${what}, but ${outcome}`)
}

/** Returns the condition under which a form acts on a kind of message. */
function conditionOf({ form, kind }: Cell): string | undefined {
  // A rule about HTTP does not know the call: a condition may be one of the call.
  const isAlike = ({ match, on }: ReachKind): boolean => match.http !== undefined && on === kind.on
  const alikeKinds = kind.match.http === undefined ? [kind] : SHOWN.filter(isAlike)
  return predictionsOf(form, alikeKinds).find(({ acts }) => acts === 'depends')?.needs
}

/**
 * Returns conditions that no message meets, or every message. A number is a condition that all
 * messages of the tests may meet.
 */
function unconditional(all: readonly (readonly [Cell, Met])[]): readonly string[] {
  const seen = new Map<string, Set<boolean>>()
  for (const [cell, { what }] of all) {
    const { form, kind } = cell
    const needs = conditionOf(cell)
    if (needs === undefined || kind.unread === true || /\d/.test(needs)) continue
    const where = kind.match.http === undefined ? nameOf(kind) : kind.on
    const key = `${form.fault} needs ${needs} on ${where}`
    seen.set(key, (seen.get(key) ?? new Set()).add(what === 'acts'))
  }
  return [...seen].flatMap(([key, [acts, ...others]]) =>
    others.length > 0 ? [] : [`${key}: ${acts ? 'always' : 'never'}`],
  )
}

/** Expects of each cell that what happened is what `explain` says, and counts as such. */
function expectForetold(cells: readonly Cell[], met: readonly Met[]): void {
  const all = cells.map((cell, index) => [cell, met[index]!] as const)
  expect(all.flatMap(([cell, each]) => complaint(cell, each) ?? [])).toEqual([])
  expect(all.flatMap(([cell, each]) => miscounted(cell, each))).toEqual([])
  if (ALL) expect(unconditional(all)).toEqual([])
}

const NAMES: readonly FaultName[] = CALL_FAULTS.map(({ name }) => name)

describe.each(Object.entries(PARTS))('%s', (_, kinds) => {
  const cellsWith = (names: readonly FaultName[], isStdio: boolean): readonly Cell[] =>
    PLAYED.filter(({ fault }) => names.includes(fault)).flatMap((form) =>
      chosen(form, kinds)
        .filter(({ transport }) => (transport === 'stdio') === isStdio)
        .flatMap((kind) => cellsOf(form, kind)),
    )

  test.each(NAMES)('%s acts where explain says, and counts only there', async (name) => {
    const cells = cellsWith([name], false)
    expectForetold(cells, await stage.play(cells))
  })

  // A server takes longer to start than its messages: few of them are shared by all faults.
  test.each(ALL ? NAMES.map((name) => [name]) : [NAMES])(
    'the same on stdio: %s',
    async (...names) => {
      const cells = cellsWith(names, true)
      expectForetold(cells, await playOnStdio(cells))
    },
  )
})

test('the page says what explain says', async () => {
  for (const [index, form] of [...FIRST].entries()) {
    const kind = SHOWN[(index * 61) % SHOWN.length]!
    const { acts, reason, needs } = foretold(form, kind)
    expect(predictionsOf(form, [kind]), form.text).toEqual([{ acts, reason, needs }])
  }
  const page = reachPage(ALIKE)
  if (process.env['UPDATE'] !== undefined) await writeFile(file, page)
  const kept = await readFile(file, 'utf8').catch(() => '')
  expect(kept, 'docs/reference/reach.md is stale: run npm run generate').toBe(page)
})
