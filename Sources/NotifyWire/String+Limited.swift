extension String {
    /// The text, or its beginning and an ellipsis if the text is longer than the limit. The result fits the limit.
    package func limited(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var text = ""
        var count = 0
        for scalar in unicodeScalars {
            count += UTF8.width(scalar)
            guard count <= limit - 3 else { break }
            text.unicodeScalars.append(scalar)
        }
        return text + "…"
    }
}
