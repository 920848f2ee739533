// Stands for k6/encoding.
export default { b64encode: (text) => Buffer.from(text).toString('base64') }
