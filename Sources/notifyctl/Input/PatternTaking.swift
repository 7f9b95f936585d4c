import ArgumentParser

/// A command whose arguments are patterns of names.
protocol PatternTaking: ParsableCommand {
    var patterns: [String] { get }
}
