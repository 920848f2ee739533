import { RESOURCE_UPDATED } from '../../mcp/call.ts'
import { TASK_METHODS } from '../../mcp/task-tools.ts'
import type { Facts } from './call-facts.ts'
import { branches, type MatchSpec } from '../file/match-spec.ts'
import {
  directionTest,
  methodTest,
  nameTest,
  plainTests,
  takesMethod,
  toolsTest,
} from './match-tests.ts'
import { type Direction, holdAll, type MatchTest } from './match-test.ts'
import { globPrefix } from '../../base/glob.ts'
import { podTests, type PodSelf } from './pod-match.ts'
import { compileText, type TextMatcher } from './text-match.ts'

/** Which names of a method a match may hold for: none, all, or those that a matcher takes. */
export type Reach = TextMatcher | boolean

export interface MatchNode {
  /** Every dimension that is given, combinations included. All must hold. */
  readonly tests: readonly MatchTest[]
  /** The tests that remain for calls that `reach` selected exactly. */
  readonly rest: readonly MatchTest[]
  /** The paths of the HTTP exchanges that are meant; undefined where it does not say. */
  readonly paths: TextMatcher | undefined
  readonly wants: string
  /** Methods that are named as they stand. */
  readonly methods: readonly string[]
  /** Which calls of a method may match; undefined stands for any method that is named nowhere. */
  reach(method: string | undefined): Reach
}

/** The methods of calls about a tool, a prompt or a resource. */
export const KINDS = {
  tool: { names: ['tools/call'], lists: ['tools/list'], tasks: TASK_METHODS },
  prompt: { names: ['prompts/get'], lists: ['prompts/list'], tasks: [] },
  resource: {
    names: ['resources/read', 'resources/subscribe', 'resources/unsubscribe'],
    lists: ['resources/list', 'resources/templates/list'],
    tasks: [],
  },
} as const
type Kind = keyof typeof KINDS
export const ALL_KINDS = Object.keys(KINDS) as Kind[]

/** Compiles the match of a rule about messages; without a method it is about tools/call. */
export function compileCallMatch(spec: MatchSpec, self: PodSelf = {}): MatchNode {
  const direction = directionOf(spec)
  const node = compileNode(spec, undefined, direction === 'client', self, direction)
  // The index has one part for each direction, so that `rest` need not test it.
  return { ...node, tests: [directionTest(direction), ...node.tests] }
}

/** Returns the messages that a match is about. */
export function directionOf({ direction = 'client', kind }: MatchSpec): Direction {
  return kind ?? direction
}

/** Compiles the match of a rule about HTTP exchanges, or about connections. */
export function compilePlainMatch(spec: MatchSpec, self: PodSelf = {}): MatchNode {
  return compileNode(spec, undefined, false, self, undefined)
}

/** True when a match is about HTTP exchanges and not about calls. */
export function isHttpMatch(spec: MatchSpec): boolean {
  return spec.http !== undefined || branches(spec).some(isHttpMatch)
}

/** True when a match says by itself which methods it is about. */
function saysMethod(spec: MatchSpec): boolean {
  return (
    spec.method !== undefined ||
    ALL_KINDS.some((kind) => spec[kind] !== undefined) ||
    (spec.all ?? []).some(saysMethod) ||
    (spec.any ?? []).some(saysMethod)
  )
}

function compileNode(
  spec: MatchSpec,
  above: TextMatcher | undefined,
  wantsDefault: boolean,
  self: PodSelf,
  /** Undefined for a rule that is not about messages. */
  direction: Direction | undefined,
): MatchNode {
  const kinds = ALL_KINDS.filter((kind) => spec[kind] !== undefined)
  let named: MatchSpec['method'] = spec.method
  if (named === undefined && above === undefined && direction === 'client') {
    if (kinds[0] !== undefined) named = KINDS[kinds[0]].names[0]
    else if (wantsDefault && !saysMethod(spec)) named = 'tools/call'
  }
  const method = named === undefined ? undefined : compileText(named)
  const passed = method ?? above
  const compile = (inner: MatchSpec, wants = false): MatchNode =>
    compileNode(inner, passed, wants, self, direction)
  const all = (spec.all ?? []).map((inner) => compile(inner))
  const anyDefault = wantsDefault && passed === undefined && !(spec.all ?? []).some(saysMethod)
  const any = spec.any?.map((inner) => compile(inner, anyDefault))
  const not = spec.not === undefined ? undefined : compile(spec.not)

  const ofMethod = method === undefined ? [] : [methodTest(method, direction ?? 'client')]
  const isOfServer = direction === 'server' || direction === 'response'
  const names = kinds.map((kind) => {
    const matcher = compileText(spec[kind]!)
    const nameOf = isOfServer ? serverNameOf(kind) : requestNameOf(kind, passed)
    const test = direction === undefined ? toolsTest(matcher) : nameTest(kind, matcher, nameOf)
    return { matcher, nameOf, test }
  })
  const plain = [...podTests(spec, self), ...plainTests(spec), ...combinations(all, any, not)]
  const tests = [...ofMethod, ...names.map(({ test }) => test), ...plain]
  const isDecidedByReach = all.length === 0 && any === undefined && not === undefined

  return {
    tests,
    rest: isDecidedByReach ? plain : tests,
    paths: spec.http?.path === undefined ? undefined : compileText(spec.http.path),
    wants: tests.map(({ dimension, wants }) => `${dimension} ${wants}`).join(', ') || 'anything',
    methods: [
      ...(method?.exact ?? []),
      ...[...all, ...(any ?? [])].flatMap((inner) => inner.methods),
    ],
    reach: (name) =>
      (method === undefined || mayTake(method, name, direction ?? 'client')) &&
      reachOf(name, names, all, any),
  }
}

/** Returns which calls of a method that a match takes may have the names and combinations. */
function reachOf(
  method: string | undefined,
  names: readonly { readonly matcher: TextMatcher; readonly nameOf: NameOf }[],
  all: readonly MatchNode[],
  any: readonly MatchNode[] | undefined,
): Reach {
  let reach: Reach = true
  for (const each of names) {
    // A message of the server may have any method.
    const by = each.nameOf(method ?? '')
    if (by === undefined) return false
    if (by === 'name') reach = each.matcher
  }
  for (const inner of all) {
    const theirs = inner.reach(method)
    if (theirs === false) return false
    if (reach === true) reach = theirs
  }
  if (any === undefined) return reach
  const open = any.map((inner) => inner.reach(method)).filter((theirs) => theirs !== false)
  if (open.length === 0) return false
  return reach === true ? union(open) : reach
}

type NameOf = (method: string) => 'name' | 'list' | undefined

/** Returns the name that a method refers to. Lists and tasks count only where they are named. */
function requestNameOf(kind: Kind, method: TextMatcher | undefined): NameOf {
  const names: readonly string[] = KINDS[kind].names
  const lists: readonly string[] = KINDS[kind].lists
  const tasks: readonly string[] = KINDS[kind].tasks
  return (of) => {
    if (names.includes(of)) return 'name'
    if (tasks.includes(of) && method !== undefined && namesTasks(method, of)) return 'name'
    return lists.includes(of) && method?.exact.includes(of) === true ? 'list' : undefined
  }
}

/** Returns true when a rule names a request about tasks, or all of them. */
function namesTasks({ exact, globs }: TextMatcher, method: string): boolean {
  return exact.includes(method) || globs.some((glob) => globPrefix(glob).startsWith('tasks/'))
}

/** Returns the name that a method of the server refers to: a resource, or the tool of the call. */
function serverNameOf(kind: Kind): NameOf {
  return (of) => {
    const named: Kind = of === RESOURCE_UPDATED ? 'resource' : 'tool'
    return named === kind ? 'name' : undefined
  }
}

function mayTake(matcher: TextMatcher, method: string | undefined, direction: Direction): boolean {
  if (method !== undefined) return takesMethod(matcher, method, direction)
  return matcher.globs.length > 0 || matcher.others.length > 0
}

function union(reaches: readonly Reach[]): Reach {
  const matchers = reaches.filter((reach) => typeof reach !== 'boolean')
  if (matchers.length < reaches.length) return true
  return {
    wants: matchers.map((matcher) => matcher.wants).join(' or '),
    exact: [...new Set(matchers.flatMap((matcher) => matcher.exact))],
    globs: matchers.flatMap((matcher) => matcher.globs),
    others: matchers.flatMap((matcher) => matcher.others),
    test: (text) => matchers.some((matcher) => matcher.test(text)),
  }
}

function combinations(
  all: readonly MatchNode[],
  any: readonly MatchNode[] | undefined,
  not: MatchNode | undefined,
): MatchTest[] {
  const tests: MatchTest[] = []
  const held = (nodes: readonly MatchNode[], facts: Facts): readonly MatchNode[] =>
    nodes.filter((node) => holdAll(node.tests, facts))
  if (all.length > 0) {
    tests.push({
      dimension: 'all',
      wants: all.map((node) => `(${node.wants})`).join(' and '),
      test: (facts) => all.every((node) => holdAll(node.tests, facts)),
      found: (facts) => `${held(all, facts).length} of ${all.length} match`,
    })
  }
  if (any !== undefined) {
    tests.push({
      dimension: 'any',
      wants: any.map((node) => `(${node.wants})`).join(' or '),
      test: (facts) => any.some((node) => holdAll(node.tests, facts)),
      found: (facts) => `${held(any, facts).length} of ${any.length} match`,
    })
  }
  if (not !== undefined) {
    tests.push({
      dimension: 'not',
      wants: `not (${not.wants})`,
      test: (facts) => !holdAll(not.tests, facts),
      found: (facts) => (holdAll(not.tests, facts) ? 'it matches' : 'it does not match'),
    })
  }
  return tests
}
