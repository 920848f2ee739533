import { type AdminAnswer, jsonAnswer } from './admin-response.ts'

/** Why somebody may not change anything, in words that hold nothing of what was sent. */
export interface ChangeProblem {
  readonly status: number
  readonly error: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The problem as an answer. */
export function problemAnswer({ status, error, headers }: ChangeProblem): AdminAnswer {
  return jsonAnswer(status, { error }, headers)
}
