import type { RequestHead } from '../../../http/headers.ts'
import type { Body, ResponseSink, Transfer, Upstream } from '../../../http/transfer.ts'
import type { PushStream } from './push-stream.ts'

/** Wraps the upstream of a GET stream, so that its events pass a `PushStream`. */
export class PushUpstream implements Upstream {
  readonly #app: Upstream
  readonly #stream: PushStream

  constructor(app: Upstream, stream: PushStream) {
    this.#app = app
    this.#stream = stream
  }

  send(head: RequestHead, body: Body, sink: ResponseSink): Transfer {
    const stream = this.#stream
    stream.setSink(sink)
    stream.attach(this.#app.send(head, body, stream))
    return stream
  }
}
