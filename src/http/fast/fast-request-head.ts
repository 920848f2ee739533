import type { HeaderLines, RequestHead } from '../headers.ts'

/** What has been found out about heads that differ in the declared length alone. */
export interface HeadNotes {
  /** The facts that `factsOf` reads from such a head; it alone knows their type. */
  facts: object | undefined
}

/** A head that is known to be plain, with what the app gets of it. A copy of its parts is none. */
export class FastRequestHead implements RequestHead {
  readonly method: string
  readonly target: string
  readonly version = '1.1'
  readonly headers: HeaderLines
  /** The head as it goes to the app, with its blank line. */
  readonly text: string
  readonly notes: HeadNotes

  constructor(
    method: string,
    target: string,
    headers: HeaderLines,
    text: string,
    notes: HeadNotes = { facts: undefined },
  ) {
    this.notes = notes
    this.method = method
    this.target = target
    this.headers = headers
    this.text = text
  }
}
