import { describe, expect, it } from 'vitest'
import { type Avoided, AVOIDED, isAvoided, withWordsApart } from './avoided-words.ts'
import { texts, textsIn } from './project-texts.ts'

/** Texts by their paths, as they are and with the words of identifiers apart. */
const forms = [...texts].map(([path, text]) => [path, text, withWordsApart(text)] as const)

function found(avoided: Avoided): readonly string[] {
  // Most texts hold none of the words, and need not be read line by line.
  const anywhere = new RegExp(avoided.not, `${avoided.not.flags}m`)
  return forms.flatMap(([path, text, apart]) =>
    anywhere.test(text) || anywhere.test(apart)
      ? text
          .split('\n')
          .flatMap((line, index) =>
            isAvoided(avoided, line) ? [`${path}:${index + 1}: ${line.trim()}`] : [],
          )
      : [],
  )
}

describe.each(AVOIDED)('people read $say', (avoided) => {
  it('and no other words for it', () => expect(found(avoided)).toEqual([]))

  it('or else the test fails', () => {
    for (const example of avoided.examples) expect(isAvoided(avoided, example), example).toBe(true)
    expect(isAvoided(avoided, avoided.say)).toBe(false)
  })
})

it('no comment begins with a question word, Of or As of', async () => {
  const read = ['src/', 'bench/', 'scripts/']
  const own = [...texts].filter(([path]) => read.some((directory) => path.startsWith(directory)))
  // Tests name the words to avoid, so that they are not among the texts above.
  const tests = await textsIn('test')
  const comments = [...own, ...tests].flatMap(([path, text]) =>
    [
      ...text.matchAll(
        /(?:\/\*\*+|\/\/)\s*(?:\*\s*)?(?:What|Who|Whoever|Whose|Whom|Whether|How|Of|As of)\b.*/g,
      ),
    ]
      // A line that continues the comment above.
      .filter(({ index }) => !/(?:^|\n)[ \t]*\/\/.*\n\s*$/.test(text.slice(0, index).slice(-200)))
      .map(([comment]) => `${path}: ${comment}`),
  )
  expect(comments).toEqual([])
})
