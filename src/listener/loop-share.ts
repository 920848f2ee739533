/** Time that responses may take of one turn of the event loop, in milliseconds. */
const SHARE = 8
/** Time that is too short to be counted, as nearly all is. */
const MOMENT = 0.05

let spent = 0

function turnOver(): void {
  spent = 0
}

/** Counts time that a response took at once; true when this turn of the event loop has had enough. */
export function spendShare(time: number): boolean {
  if (time >= MOMENT) {
    if (spent === 0) setImmediate(turnOver)
    spent += time
  }
  return spent > SHARE
}
