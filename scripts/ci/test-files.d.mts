export const FAST: 'tests'
export function allTestFiles(): string[]
export function partOf(path: string): string
export function testFilesByPart(): Map<string, string[]>
