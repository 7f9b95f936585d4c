import ArgumentParser

/// A command whose arguments are patterns of names, or a name that may have been meant as a pattern. The user is warned
/// of wildcards that have no effect (`PatternWarning`).
protocol PatternTaking: ParsableCommand {
    var patterns: [String] { get }
}
