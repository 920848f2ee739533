import type { HeaderLines, RequestHead } from '../http.ts'

/** A head that is known to be plain, with what the app gets of it. A copy of its parts is none. */
export class PlainHead implements RequestHead {
  readonly method: string
  readonly target: string
  readonly version = '1.1'
  readonly headers: HeaderLines
  /** The head as it goes to the app, with its blank line. */
  readonly text: string

  constructor(method: string, target: string, headers: HeaderLines, text: string) {
    this.method = method
    this.target = target
    this.headers = headers
    this.text = text
  }
}
