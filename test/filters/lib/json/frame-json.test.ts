import { describe, expect, it } from 'vitest'
import { frameText, withText } from '../../../../src/filters/lib/json/frame-json.ts'
import type { Frame } from '../../../../src/filters/fault.ts'
import { frame } from '../../context.ts'

const RESULT = { kind: 'result', id: 1, result: { a: 1 } } as const
const JSON_TEXT = '{"jsonrpc":"2.0","id":1,"result":{"a":1}}'

function changed(of: Frame, text: string): string {
  return Buffer.from(withText(of, text).raw).toString()
}

describe('the JSON of a frame', () => {
  it.each([
    ['body', ' {"a" : 1}\n', ' {"a" : 1}\n'],
    ['body', '\uFEFF[1]', '[1]'],
    ['body', '<html>', undefined],
    ['body', '', undefined],
    ['event', 'data: {"a":1}\n\n', '{"a":1}'],
    ['event', '\uFEFFdata:{"a":1}\r\n\r\n', '{"a":1}'],
    ['event', 'id: 1\ndata: {\nevent: message\ndata:  "a":1}\n\n', '{\n "a":1}'],
    ['event', 'id: 1\ndata\n\n', ''],
    ['event', 'id: 1\ndatas: 1\n\n', undefined],
  ] as const)('of a %s %j', (kind, raw, text) => {
    expect(frameText(frame(kind, raw))).toBe(text)
  })

  it('is none where the bytes are not UTF-8, and is where they say U+FFFD', () => {
    const bytes = Buffer.concat([Buffer.from('"'), Buffer.from([0xff]), Buffer.from('"')])
    expect(frameText({ ...frame('body', ''), raw: bytes })).toBeUndefined()
    expect(frameText(frame('body', '"\uFFFD"'))).toBe('"\uFFFD"')
  })
})

describe('a frame with another text', () => {
  it.each([
    ['id: 7\nevent: message\ndata: {}\n\n', 'id: 7\nevent: message\ndata: [1]\n\n'],
    [': hi\r\ndata:{}\r\nretry: 5\r\n\r\n', ': hi\r\ndata:[1]\r\nretry: 5\r\n\r\n'],
    ['\uFEFFdata: {}\r\r', '\uFEFFdata: [1]\r\r'],
    ['data: {\nid: 1\ndata: }\n\n', 'data: [1]\nid: 1\n\n'],
    ['data\n\n', 'data: [1]\n\n'],
  ])('keeps all else of the event %j', (raw, after) => {
    expect(changed(frame('event', raw), '[1]')).toBe(after)
  })

  it('has a data line for each line of the text', () => {
    expect(changed(frame('event', 'data: 0\nid: 1\n\n'), '[\r\n1\n]')).toBe(
      'data: [\ndata: 1\ndata: ]\nid: 1\n\n',
    )
    expect(changed(frame('event', 'data:[\nid: 1\ndata: ]\n\n'), '[\n  1\n]')).toBe(
      'data:[\nid: 1\ndata:   1\ndata: ]\n\n',
    )
    expect(frameText(withText(frame('event', 'data:0\n\n'), ' 1\n 2'))).toBe(' 1\n 2')
  })

  it('is the same frame but for its bytes and its message', () => {
    const before = { ...frame('body', '{}', true), eventId: '9' }
    const after = withText(before, JSON_TEXT)
    expect(after).toMatchObject({ kind: 'body', last: true, message: RESULT, eventId: '9' })
    expect(withText(after, '{').message).toBeUndefined()
  })

  it('keeps the mark that a body begins with', () => {
    expect(changed(frame('body', '\uFEFF{}'), '[]')).toBe('\uFEFF[]')
  })
})
