import type { RequestHead } from '../../../http/headers.ts'
import type { Body, ResponseSink, Transfer, Upstream } from '../../../http/transfer.ts'
import type { PushStream } from './push-stream.ts'

/** The app as a stream meets it that was opened by GET: what it sends comes through a `PushStream`. */
export class PushUpstream implements Upstream {
  readonly #app: Upstream
  readonly #stream: PushStream

  constructor(app: Upstream, stream: PushStream) {
    this.#app = app
    this.#stream = stream
  }

  send(head: RequestHead, body: Body, sink: ResponseSink): Transfer {
    const stream = this.#stream
    stream.into(sink)
    stream.attach(this.#app.send(head, body, stream))
    return stream
  }
}
