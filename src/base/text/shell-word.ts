/** Returns a word as a shell reads it back. */
export function shellWord(word: string): string {
  return /^[\w./:=@%+,{}-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
