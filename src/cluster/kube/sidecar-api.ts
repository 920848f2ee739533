import { fieldsOf, listOf, numberOf, textOf, type Fields } from '../../base/values.ts'
import { lineOf, oneLine } from '../../base/text/foreign-text.ts'
import { CLIENT_HEADER, TOKEN_HEADER } from '../../http/trusted-host.ts'
import type { InjectedPod } from './injected-pod.ts'
import type { KubeClient } from './kube-client.ts'
import { type Limits, pathOf, PODS } from './resources.ts'

/** A mistake that a sidecar found in its rules. */
export interface SidecarProblem {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly message: string
}

/** What a sidecar says of itself. */
export interface SidecarState {
  readonly version: string
  readonly armed: boolean
  readonly reasons: readonly { readonly by: string; readonly reason: string }[]
  readonly shadow: boolean
  /** Of the rules in force. */
  readonly digest: string | undefined
  readonly ruleCount: number
  /** Rules whose times count from the start of the pod. */
  readonly unanchored: readonly string[]
  /** The version of the rules that was found last. */
  readonly lastReload:
    | {
        readonly result: string
        readonly digest: string
        readonly reason: string | undefined
        readonly problems: readonly SidecarProblem[]
      }
    | undefined
}

/** One rule of a sidecar. */
export interface SidecarRule {
  readonly name: string
  readonly hits: number
  readonly phase: string
  readonly builtIn: boolean
  /** As the sidecar writes them; undefined where there is none. */
  readonly appliedAt: string | undefined
  readonly until: string | undefined
}

/** How a sidecar is asked. */
export interface AskOptions extends Limits {
  /** The read token, for a sidecar that asks for one. */
  readonly readToken?: string | undefined
}

const MAX_BYTES = 4 * 1024 * 1024

/** Where a sidecar is asked. */
export type AskedPod = Pick<InjectedPod, 'namespace' | 'name' | 'adminPort'>

/** Asks a sidecar for its state, through the API server. */
export async function sidecarState(
  client: KubeClient,
  pod: AskedPod,
  limits: AskOptions,
): Promise<SidecarState> {
  const state = await ask(client, pod, '/api/state', limits)
  const rules = fieldsOf(state['rules'])
  const last = fieldsOf(state['lastReload'])
  const digest = textOf(last['digest'])
  return {
    version: oneLine(textOf(state['version']) ?? '?'),
    armed: state['armed'] === true,
    reasons: listOf(state['reasons']).map(({ by, reason }) => ({
      by: oneLine(textOf(by) ?? '?'),
      reason: oneLine(textOf(reason) ?? ''),
    })),
    shadow: state['shadow'] === true,
    digest: textOf(rules['digest']),
    ruleCount: numberOf(rules['count']),
    unanchored: (Array.isArray(state['unanchored']) ? state['unanchored'] : []).map((name) =>
      oneLine(textOf(name) ?? '?'),
    ),
    lastReload:
      digest === undefined
        ? undefined
        : {
            result: oneLine(textOf(last['result']) ?? '?'),
            digest,
            reason: lineOf(last['reason']),
            problems: listOf(last['problems']).map((each) => ({
              file: oneLine(textOf(each['file']) ?? '?'),
              line: numberOf(each['line']),
              column: numberOf(each['column']),
              message: oneLine(
                [textOf(each['path']), textOf(each['message'])].filter(Boolean).join(': '),
              ),
            })),
          },
  }
}

/** Asks a sidecar for its rules. */
export async function sidecarRules(
  client: KubeClient,
  pod: AskedPod,
  limits: AskOptions,
): Promise<readonly SidecarRule[]> {
  const answer = await ask(client, pod, '/api/rules', limits)
  return listOf(answer['rules']).map((rule) => ({
    name: oneLine(textOf(rule['name']) ?? '?'),
    hits: numberOf(rule['hits']),
    phase: oneLine(textOf(rule['phase']) ?? '?'),
    builtIn: rule['builtIn'] === true,
    appliedAt: lineOf(rule['appliedAt']),
    until: lineOf(rule['until']),
  }))
}

async function ask(
  client: KubeClient,
  { namespace, name, adminPort }: AskedPod,
  path: string,
  { readToken, ...limits }: AskOptions,
): Promise<Fields> {
  const proxy = pathOf({ kind: PODS, namespace, name: `${name}:${adminPort}` })
    // The colon stands for itself here.
    .replace('%3A', ':')
  const what = `ask the sidecar of pod "${name}" in namespace "${namespace}"`
  return fieldsOf(
    await client.request({
      method: 'GET',
      path: `${proxy}/proxy${path}`,
      what,
      maxBytes: MAX_BYTES,
      headers: {
        [CLIENT_HEADER]: 'kube',
        ...(readToken !== undefined && { [TOKEN_HEADER]: `Bearer ${readToken}` }),
      },
      ...limits,
    }),
  )
}
