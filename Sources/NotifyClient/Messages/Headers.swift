import NotifyWire

extension NotifyClient {
    /// A message's headers: keys with values, each key once, in the poster's order.
    ///
    /// At most 64 of them with 16 KiB in all. Keys are 1 to 255 bytes without control characters.
    public struct Headers: Sendable, RandomAccessCollection, ExpressibleByDictionaryLiteral {
        private var entries: [(key: String, value: String)]

        /// No headers.
        public init() {
            entries = []
        }

        /// Headers in the order given. Rules are checked when a message is made of them.
        public init(_ entries: [(key: String, value: String)]) {
            self.entries = entries
        }

        /// Headers in the order given. Rules are checked when a message is made of them.
        public init(dictionaryLiteral elements: (String, String)...) {
            entries = elements.map { (key: $0.0, value: $0.1) }
        }

        /// The index of the first header.
        public var startIndex: Int { entries.startIndex }
        /// The index after the last header.
        public var endIndex: Int { entries.endIndex }

        /// The header at a position.
        public subscript(position: Int) -> (key: String, value: String) { entries[position] }

        /// The value of a key; `nil` without it. Setting replaces in place or appends; setting `nil` removes.
        public subscript(key: String) -> String? {
            get { entries.first { $0.key.utf8.elementsEqual(key.utf8) }?.value }
            set {
                let index = entries.firstIndex { $0.key.utf8.elementsEqual(key.utf8) }
                switch (index, newValue) {
                case (let index?, let value?): entries[index].value = value
                case (let index?, nil): entries.remove(at: index)
                case (nil, let value?): entries.append((key, value))
                case (nil, nil): break
                }
            }
        }

        /// The headers as they travel.
        func encoded() throws(NotifyError) -> [UInt8] {
            guard !entries.isEmpty else { return [] }
            do {
                return try HeaderList.encode(entries)
            } catch {
                throw NotifyError(error)
            }
        }
    }
}
