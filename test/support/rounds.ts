/** How often a test repeats what it does: a few times by itself, many times in `npm run test:rounds`. */
export function rounds(few: number, many: number): number {
  return process.env['SQUALL_TEST_ROUNDS'] === 'many' ? many : few
}
