/// The reason why a text is not a YAML document, and the place of the error.
package enum YAMLError: Error, Equatable {
    case invalid(problem: String, Mark?)
    /// Keys that a mapping has more than once, and the place of the first of them.
    case duplicateKeys([String], Mark)
}
