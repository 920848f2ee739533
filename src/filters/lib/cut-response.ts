/**
 * Thrown by a frame transform to end the client's connection in the middle of an answer. What it
 * yielded before has been sent by then.
 */
export class CutAnswer extends Error {
  readonly code = 'SQUALL_CUT_ANSWER'
  readonly how: 'rst' | 'fin'

  constructor(how: 'rst' | 'fin') {
    super('a fault cuts the answer')
    this.how = how
  }
}
