import { type AdminResponse, jsonResponse } from './admin-response.ts'

/** Why somebody may not change anything, in words that hold nothing of what was sent. */
export interface ChangeProblem {
  readonly status: number
  readonly error: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The problem as a response. */
export function problemResponse({ status, error, headers }: ChangeProblem): AdminResponse {
  return jsonResponse(status, { error }, headers)
}
