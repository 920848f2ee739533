import { type Line, textLine } from './line.ts'

/** Shares rows among those who want some: evenly, and what one does not need goes to the others. */
export function allot(room: number, wanted: readonly number[]): readonly number[] {
  const given = wanted.map(() => 0)
  let left = room
  for (let gave = true; gave && left > 0;) {
    gave = false
    for (const [i, most] of wanted.entries()) {
      if (left <= 0 || given[i]! >= most) continue
      given[i]!++
      left--
      gave = true
    }
    if (wanted.every((most, i) => given[i]! >= most)) break
  }
  return given
}

/** The first rows, and how many more there are where not all find room. */
export function cutRows(
  rows: readonly Line[],
  room: number,
  more: (shown: number) => string,
): readonly Line[] {
  if (rows.length <= room) return rows
  if (room < 1) return []
  return [...rows.slice(0, room - 1), textLine(`… ${more(room - 1)}`, 'quiet')]
}
