#pragma once

/// How often the calling thread has allocated memory.
unsigned long allocation_count(void);
