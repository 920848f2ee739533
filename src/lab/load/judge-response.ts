import { isRecord } from '../../base/values.ts'
import { asInBaseline, type Baseline } from './baseline.ts'
import type { PlannedCall } from './call-plan.ts'
import type { CallResponse } from './clients/load-client.ts'

/** The value of a response to the caller. */
export interface Judgement {
  /** It is a response without error. */
  readonly responded: boolean
  readonly schemaOk: boolean
  readonly usable: boolean
}

const FAILED: Judgement = { responded: false, schemaOk: false, usable: false }

/** Judges a response by the schema of its tool, by what is expected of it and by a clean run. */
export function judgeResponse(
  call: PlannedCall,
  response: CallResponse,
  baseline: Baseline | undefined,
): Judgement {
  if (response.kind !== 'ok') return FAILED
  const { result } = response
  return {
    responded: true,
    schemaOk: fits(call, result),
    usable:
      call.expect.every((expectation) => expectation.holds(result)) &&
      (baseline === undefined || asInBaseline(baseline, call.key, result)),
  }
}

function fits({ fitsSchema }: PlannedCall, result: unknown): boolean {
  if (fitsSchema === undefined || !isRecord(result)) return true
  const { resultType, structuredContent } = result
  // A server that asks back has not answered yet.
  if (resultType !== undefined && resultType !== 'complete') return true
  return structuredContent !== undefined && fitsSchema(structuredContent)
}
