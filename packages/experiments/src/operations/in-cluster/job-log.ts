import { fieldsOf, parsedJson } from '#base'
import { type KubeClient, type KubeRequest, pathOf, PODS } from '#kubernetes'
import { EXPERIMENT_SCHEMA, type ExperimentResult } from '../../experiment/experiment-result.ts'
import { RejectedError, type Rejection } from '../../experiment/rejection.ts'
import { RUN_ID } from '../../experiment/run-id.ts'
import { RUNNER } from './job-manifest.ts'

/** What the last line of a runner with `--json` reports. */
export type Outcome = ExperimentResult | RejectedError

/** A pod whose log is read. */
export interface LoggedPod {
  readonly namespace: string
  readonly name: string
}

const STAMPED = /^(\S+) (.*)$/

/** Reads the log of the runner: as far as it has got, or within a time until the runner ends. */
export function readLog(client: KubeClient, pod: LoggedPod, followMs?: number): Promise<string> {
  if (followMs === undefined) return client.text(logRequest(pod, {}))
  return client.text({ ...logRequest(pod, { follow: 'true' }), timeoutMs: followMs })
}

/** Returns a function that reads the lines of a log that are new since its last call. */
export function newLines(client: KubeClient, pod: LoggedPod) {
  let last = ''
  return async (signal?: AbortSignal): Promise<readonly string[]> => {
    // The API server knows this time to the second.
    const sinceTime = last === '' ? undefined : `${last.slice(0, 19)}Z`
    const text = await client.text(logRequest(pod, { timestamps: 'true', sinceTime }, signal))
    const lines = text.split('\n').flatMap((line) => {
      const [, at = '', rest = ''] = STAMPED.exec(line) ?? []
      return at > last ? [{ at, rest }] : []
    })
    last = lines.at(-1)?.at ?? last
    return lines.map(({ rest }) => rest)
  }
}

/** Returns the outcome that a line of the log has; undefined for every other line. */
export function outcomeOf(line: string): Outcome | undefined {
  if (!line.startsWith('{')) return undefined
  const fields = fieldsOf(parsedJson(line))
  const { schema, id, rejected } = fields
  if (schema === EXPERIMENT_SCHEMA && RUN_ID.test(String(id))) {
    return fields as unknown as ExperimentResult
  }
  return Array.isArray(rejected) ? new RejectedError(...(rejected as Rejection[])) : undefined
}

/** Returns true for the JSON of an error; the line before has the message. */
export function isErrorJson(line: string): boolean {
  return fieldsOf(parsedJson(line))['ok'] === false
}

export function lastOutcome(log: string): Outcome | undefined {
  return log
    .split('\n')
    .map(outcomeOf)
    .findLast((each) => each !== undefined)
}

function logRequest(
  { namespace, name }: LoggedPod,
  query: NonNullable<KubeRequest['query']>,
  signal?: AbortSignal,
): KubeRequest {
  return {
    method: 'GET',
    path: `${pathOf({ kind: PODS, namespace, name })}/log`,
    query: { container: RUNNER, ...query },
    what: `read the log of pod "${name}" in namespace "${namespace}"`,
    signal,
  }
}
