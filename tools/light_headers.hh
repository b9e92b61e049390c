// The same for light libraries.
#include "product_headers.hh"
