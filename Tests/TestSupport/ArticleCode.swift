import Foundation

/// Reads the Swift code that an article shows and the compiled code of a test, so that a test can compare them.
package enum ArticleCode {
    /// Returns the blocks of Swift code in an article.
    ///
    /// - Parameter article: A path within the repository.
    package static func shown(in article: String) throws -> [[String]] {
        let here = URL(filePath: #filePath)
        let repository = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try blocks(of: repository.appending(path: article), from: "```swift", to: "```")
    }

    /// Returns the blocks of code between `// snippet` and `// end` in a source file.
    package static func compiled(in file: String = #filePath) throws -> [[String]] {
        try blocks(of: URL(filePath: file), from: "// snippet", to: "// end")
    }

    /// Returns the blocks of lines between two marks, without the indentation of the first mark.
    private static func blocks(of file: URL, from start: String, to end: String) throws -> [[String]] {
        var blocks: [[String]] = []
        var indentation: Int?
        for line in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n") {
            let text = line.drop { $0 == " " }
            if indentation != nil, text == end {
                indentation = nil
            } else if let indentation {
                blocks[blocks.count - 1].append(String(line.dropFirst(indentation)))
            } else if text == start {
                indentation = line.count - text.count
                blocks.append([])
            }
        }
        return blocks
    }
}
