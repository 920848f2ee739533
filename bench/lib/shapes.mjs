// Bodies of the shapes and sizes that tools return.

/** @param {number} size @param {(i: number) => string} unit */
function filled(size, unit) {
  let text = ''
  for (let i = 0; text.length < size; i++) text += unit(i)
  return text
}

/** @param {number} i */
const row = (i) => ({ id: i, name: `item ${i}`, open: i % 3 === 0, tags: ['a', 'b'], price: i / 4 })

/** The value of so many bytes, more or less, by its shape. @type {Record<string, (size: number) => object>} */
const SHAPES = {
  log: (size) =>
    textResult(
      filled(size, (i) => `12:00:0${i % 10} INFO "GET /a/${i}" from C:\\logs — 200 in ${i} ms\n`),
    ),
  scripts: (size) =>
    textResult(filled(size / 2.2, (i) => `${i} 漢字かな交じり文 Привет, мир! مرحبا Grüße 👋 `)),
  json: (size) =>
    textResult(`[${filled(size / 1.25, (i) => `${JSON.stringify(row(i))},`).slice(0, -1)}]`),
  nested: (size) => ({
    content: [],
    structuredContent: { rows: Array.from({ length: Math.ceil(size / 72) }, (_, i) => row(i)) },
  }),
  numbers: (size) => ({
    content: [],
    structuredContent: { values: Array.from({ length: Math.ceil(size / 7) }, (_, i) => i * 1.25) },
  }),
  image: (size) => ({
    content: [{ type: 'image', mimeType: 'image/png', data: base64(size) }],
  }),
  plain: (size) => textResult('y'.repeat(size)),
}

/** @param {string} text */
function textResult(text) {
  return { content: [{ type: 'text', text }] }
}

/** @param {number} size */
function base64(size) {
  const bytes = Buffer.alloc(Math.ceil((size * 3) / 4))
  for (let i = 0, value = 1; i < bytes.length; i++) {
    value = (Math.imul(value, 1_103_515_245) + 12_345) >>> 0
    bytes[i] = value >>> 16
  }
  return bytes.toString('base64')
}

export const SHAPE_NAMES = Object.keys(SHAPES)
export const SIZES = [1, 4, 16, 64, 256, 1024]

/**
 * Returns a value of a shape, and of so many KiB.
 * @param {string} shape
 * @param {number} kib
 */
export function shaped(shape, kib) {
  const make = SHAPES[shape]
  if (make === undefined) throw new Error(`no shape '${shape}': ${SHAPE_NAMES.join(', ')}`)
  return make(kib * 1024)
}
