/** What a request to the admin port is answered with. */
export interface AdminAnswer {
  readonly status: number
  readonly type: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A JSON answer on one line. */
export function jsonAnswer(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): AdminAnswer {
  return { status, type: 'application/json', body: `${JSON.stringify(value)}\n`, headers }
}
