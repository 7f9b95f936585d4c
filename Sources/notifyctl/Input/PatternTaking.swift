import ArgumentParser

/// A command whose arguments are patterns of names, or a name that may have been meant as a pattern.
protocol PatternTaking: ParsableCommand {
    var patterns: [String] { get }
}
