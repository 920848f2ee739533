// Keeps vitest from the configuration of this project, which knows other tests. Your project needs none.
export default {}
