export { endingAfter } from './deadline.ts'
export { sha256Of, shortDigest } from './digest.ts'
export { isGlob, matchesGlob, MAX_GLOB } from './glob.ts'
export { instantText, readInstant } from './instant.ts'
export { canonicalJson, sameJson } from './json/canonical-json.ts'
export { jsonInText, parsedJson } from './json/json-in-text.ts'
export { parsePointer, pointedAt, pointerTo } from './json/json-pointer.ts'
export { nearestName } from './nearest-name.ts'
export { makeDirectory } from './make-directory.ts'
export { readBounded, readJsonFile, readUpTo } from './read-bounded.ts'
export type { CharSet } from './regex/char-set.ts'
export { parseRegex, type RegexNode } from './regex/regex-parse.ts'
export { MAX_REGEX_TEXT, SafeRegex } from './regex/safe-regex.ts'
export { replaceText } from './replace-text.ts'
export {
  drawSeed,
  hashOf,
  intBetween,
  pick,
  type RandomSource,
  seededRandom,
} from './seeded-random.ts'
export { interruption, onSignals, onStopSignals } from './signals.ts'
export { readSmallFile } from './small-file.ts'
export { systemReason, UNTRUSTED } from './system-reason.ts'
export { asInvoked, ownCommand } from './own-command.ts'
export { alignedLines } from './text/aligned-lines.ts'
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
export { htmlText, markdownText } from './text/markup-text.ts'
export { paint, type Tone } from './text/paint.ts'
export {
  duration,
  gateValue,
  integerText,
  latency,
  moment,
  percentage,
  plainNumber,
} from './text/shown-numbers.ts'
export { shellWord } from './text/shell-word.ts'
export { shownUrl } from './text/shown-url.ts'
export { wrapped } from './text/wrapped.ts'
export { CLEAR_LINE, type LineOutput, redraw, redraws } from './text/status-line.ts'
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
export { type Fields, fieldsOf, isRecord, listOf, numberOf, textOf, textsOf } from './values.ts'
export { WatchedFiles } from './watch/watched-files.ts'
export { childEnvironment } from './child-environment.ts'
export { signalWhenGone } from './when-gone.ts'
export { assertShallow, DeepYamlError, MAX_YAML_DEPTH } from './yaml/yaml-depth.ts'
