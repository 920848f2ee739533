/**
 * Thrown by a frame transform to end the client's connection in the middle of a response. What it
 * yielded before has been sent by then.
 */
export class CutResponse extends Error {
  readonly code = 'SQUALL_CUT_RESPONSE'
  readonly how: 'rst' | 'fin'

  constructor(how: 'rst' | 'fin') {
    super('a fault cuts the response')
    this.how = how
  }
}
