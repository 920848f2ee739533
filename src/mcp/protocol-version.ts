/** The first revision without sessions, where every request says its revision itself. */
export const FIRST_MODERN_REVISION = '2026-07-28'

/** True when the revision is a date: only dates can be put in order. */
export function isRevisionDate(revision: string): boolean {
  if (revision.length !== 10) return false
  for (let i = 0; i < 10; i++) {
    const code = revision.charCodeAt(i)
    if (i === 4 || i === 7 ? code !== 0x2d : code < 0x30 || code > 0x39) return false
  }
  return true
}

/** True from revision 2026-07-28 on; false for older, unknown and missing ones. */
export function isModern(revision: string | undefined): boolean {
  return (
    revision !== undefined &&
    (revision === FIRST_MODERN_REVISION ||
      (revision > FIRST_MODERN_REVISION && isRevisionDate(revision)))
  )
}
