export { endingAfter } from './deadline.ts'
export { sha256Of, shortDigest } from './digest.ts'
export { isGlob, matchesGlob, MAX_GLOB } from './glob.ts'
export { instantText, readInstant } from './instant.ts'
export {
  canonicalJson,
  type Fields,
  fieldsOf,
  isRecord,
  jsonInText,
  listOf,
  numberOf,
  parsedJson,
  sameJson,
  textOf,
  textsOf,
} from './values.ts'
export { parsePointer, pointedAt, pointerTo } from './json/json-pointer.ts'
export { nearestName } from './nearest-name.ts'
export {
  makeDirectory,
  readBounded,
  readBoundedText,
  readJsonFile,
  readSmallFile,
  readUpTo,
  replaceText,
} from './files.ts'
export { parseRegex } from './regex/regex-parse.ts'
export { MAX_REGEX_TEXT, SafeRegex } from './regex/safe-regex.ts'
export {
  drawSeed,
  hashOf,
  intBetween,
  pick,
  type RandomSource,
  seededRandom,
  standardNormal,
} from './seeded-random.ts'
export { interruption, onSignals, onStopSignals } from './signals.ts'
export { systemReason, UNTRUSTED } from './system-reason.ts'
export {
  asInvoked,
  deployFile,
  hasRepository,
  ownCommand,
  publishedUrl,
  readVersion,
} from './program.ts'
export { alignedLines, wrapped } from './text/lines.ts'
export {
  foreign,
  foreignCell,
  hasUnseen,
  oneLine,
  plain,
  plainJson,
  plainText,
  quoted,
  shortened,
} from './text/foreign-text.ts'
export { htmlText, markdownText, shellWord, shownUrl } from './text/escapes.ts'
export {
  CLEAR_LINE,
  type LineOutput,
  paint,
  redraw,
  redraws,
  type Tone,
  widthOf,
} from './text/terminal-text.ts'
export {
  duration,
  gateValue,
  integerText,
  latency,
  moment,
  percentage,
  plainNumber,
} from './text/shown-numbers.ts'
export {
  counted,
  durationText,
  MAX_DURATION_MS,
  readDuration,
  readFactor,
  readPercent,
  readRate,
  readSize,
  roundedDuration,
} from './units.ts'
export { WatchedFiles } from './watch/watched-files.ts'
export { childEnvironment, signalWhenGone } from './child-process.ts'
